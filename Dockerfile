# A server of campaigns. Build it in this folder: docker build -t probewise .
FROM python:3.11-slim

# Nothing of the server needs to be root, and nothing but /campaigns is written to.
RUN useradd --create-home --uid 10001 probewise && mkdir /campaigns && chown probewise /campaigns
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt '.[server,postgresql,spreadsheet,parquet]' && rm -rf /src
USER probewise
WORKDIR /campaigns
VOLUME /campaigns
EXPOSE 8017

# A proxy in front speaks TLS (docs/serve.md); PROBEWISE_URL is the address in the browser.
ENV PROBEWISE_URL=https://localhost PROBEWISE_PLACE=/campaigns PROBEWISE_STATE=/campaigns/.probewise-server.sqlite
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8017/readyz')"]
STOPSIGNAL SIGTERM
CMD ["sh", "-c", "exec probewise serve \"$PROBEWISE_PLACE\" --host 0.0.0.0 --behind-proxy --url \"$PROBEWISE_URL\" --state \"$PROBEWISE_STATE\""]
