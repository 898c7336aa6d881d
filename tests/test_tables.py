from __future__ import annotations

import importlib.util
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise import parquet
from probewise.errors import InvalidProblem, MissingExtra
from probewise.reading import read_table
from probewise.tables import RowNumbers, Table, labelled, named

PLAIN = "id,x,y\na,1,2\nb,3,4e-1\n"


def write(tmp_path, text, name="probes.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        "\n\n" + PLAIN.replace("\n", "\n\n"),
        PLAIN + ",,\n , ,\n",
        PLAIN.replace(",", " , "),
        PLAIN.rstrip("\n"),
        'id,"x",y\n"a","1",2\n"b",3,"0.4"\n',
    ],
)
def test_csv_variants_give_the_same_table(tmp_path, text):
    table = read_table(write(tmp_path, text))
    assert table.header == ("id", "x", "y")
    assert len(table) == 2
    matrix = table.labelled()
    assert matrix.rows == ("a", "b")
    assert matrix.features == ("x", "y")
    np.testing.assert_array_equal(matrix.values, [[1, 2], [3, 0.4]])


def test_separator_inside_quotes_does_not_decide(tmp_path):
    table = read_table(write(tmp_path, '"weight, kg, dry";"height, cm"\n1;2\n'))
    assert table.header == ("weight, kg, dry", "height, cm")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"probes\.csv is empty; its first line must name the columns"),
        ("\n \n", r"probes\.csv is empty"),
        ("1,2\n3,4\n", r"first line of probes\.csv must name the columns, got numbers: '1', '2'"),
        ("x,y,x\n1,2,3\n", r"probes\.csv has more than one column called 'x'; rename"),
        (",x\n0,2\n", r"column 1 of probes\.csv has no name; call it id"),
        ("x,y\n1,2\n\n3\n", r"probes\.csv, line 4: expected 2 cells as in the header, got 1"),
        ("x,y\n1,2,3\n", r"probes\.csv, line 2: expected 2 cells as in the header, got 3; quote"),
        ('x,y\n1,"2\n', r"probes\.csv, line 2: the line cannot be split into cells"),
        ("x,y\n1,2\n3,O.5\n4,5\n", r"probes\.csv, line 3, column 'y': 'O\.5' is not a number; give a number"),
        ("x,y\n1,\n", r"probes\.csv, line 2, column 'y': the number is missing"),
        ("x,y\n1,2\n3,NA\n", r"probes\.csv, line 3, column 'y': the number is missing"),
        ("x,y\n1,2\n3,nan\n", r"probes\.csv, line 3, column 'y': the number is missing"),
        ("x,y\n1,2\n3,-inf\n", r"probes\.csv, line 3, column 'y': '-inf' is not finite"),
        ("x,y\n1,2\n3,1_0\n", r"line 3, column 'y': '1_0' is not a number"),
        (
            "x;y\n1;2\n2.5;3\n3;0,5\n",
            r"probes\.csv has numbers with decimal commas \('0,5', line 4\) and with decimal points \('2\.5', line 3\)",
        ),
        ("id,x\na,1\n,2\n", r"probes\.csv, line 3, column 'id': the name is missing"),
        (
            "name,kind,x\na,p,1\n",
            r"more than one column that may hold names, 'name', 'kind'; say which one by id_column",
        ),
        ("id,kind,x\na,p,1\n", r"features must be numbers, but probes\.csv has text in 'kind'; encode"),
        ("id\na\n", r"probes\.csv has no column of features; its columns are 'id'"),
    ],
)
def test_bad_csv_gets_one_sentence(tmp_path, text, match):
    with pytest.raises(InvalidProblem, match=match) as caught:
        read_table(write(tmp_path, text)).labelled()
    assert "\n" not in str(caught.value)


def test_lines_are_counted_through_quoted_line_breaks(tmp_path):
    path = write(tmp_path, 'id,x\n"two\nlines",1\nb,2\nc,3\nd,bad\n')
    with pytest.raises(InvalidProblem, match="line 6, column 'x': 'bad'"):
        read_table(path).labelled()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidProblem, match=r"there is no file .*nowhere\.csv"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidProblem, match=r"is not UTF-8 text, and line 2 has a letter .* save it as CSV in UTF-8"):
        read_table(write(tmp_path, PLAIN.replace("a", "Łódź"), encoding="cp1250"))
    assert read_table(write(tmp_path, PLAIN, encoding="utf-16")).labelled().rows == ("a", "b")
    with pytest.raises(InvalidProblem, match=r"probes\.parquet cannot be read as a Parquet file"):
        read_table(write(tmp_path, PLAIN, name="probes.parquet"))


def test_header_alone_is_a_table_without_rows(tmp_path):
    table = read_table(write(tmp_path, "x,y\n"))
    assert len(table) == 0
    assert table.labelled().values.shape == (0, 2)


def test_columns_that_are_not_features(tmp_path):
    table = read_table(write(tmp_path, "id,cost,x,sigma\na,5,1,0.1\nb,7,2,0.2\n"))
    assert table.numbers("cost").tolist() == [5, 7]
    assert table.text("id") == ("a", "b")
    assert table.without("cost", "sigma").labelled().features == ("x",)
    with pytest.raises(InvalidProblem, match=r"no column 'costs'; it has 'id', 'cost', 'x', 'sigma'"):
        table.numbers("costs")


def test_id_column_is_found_or_given(tmp_path):
    text = "ID,name,x\n07,p,1\n08,q,2\n"
    table = read_table(write(tmp_path, text))
    assert table.without("name").labelled().rows == ("07", "08")
    assert table.without("ID").labelled().rows == ("p", "q")
    assert table.without("ID").labelled("name").rows == ("p", "q")
    assert table.without("ID", "name").labelled().rows is None
    with pytest.raises(InvalidProblem, match="no column 'label'"):
        table.labelled("label")


@pytest.mark.parametrize("reader", ["polars", "pyarrow", "pandas"])
def test_parquet_by_each_reader(tmp_path, monkeypatch, reader):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"id": [3, 5], "x": [1.5, 2.5], "on": [True, False]}).write_parquet(path)
    only(monkeypatch, reader)
    matrix = read_table(path).labelled()
    assert (matrix.rows, matrix.features) == (("3", "5"), ("x", "on"))
    np.testing.assert_array_equal(matrix.values, [[1.5, 1], [2.5, 0]])


def test_parquet_without_any_reader(tmp_path, monkeypatch):
    only(monkeypatch, None)
    with pytest.raises(MissingExtra, match=r"items\.pq needs polars; install probewise\[parquet\] or save .* as CSV"):
        read_table(write(tmp_path, "", name="items.pq"))


def test_a_reader_that_lacks_a_part_is_no_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "READERS", (("pandas.no_such_part", "read_parquet"),))
    with pytest.raises(MissingExtra, match="needs polars"):
        read_table(write(tmp_path, "", name="items.pq"))


def only(monkeypatch, reader):
    real = importlib.util.find_spec
    hidden = {"polars", "pyarrow", "pandas"} - {reader}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name in hidden else real(name, *a))


def test_text_column_of_a_frame_is_not_a_number(tmp_path):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"id": ["a"], "cost": ["7"], "x": [1]}).write_parquet(path)
    with pytest.raises(InvalidProblem, match=r"column 'cost' of items\.parquet must hold numbers, got text"):
        read_table(path).numbers("cost")


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ([1, 2, 3], r"probes must be a table with one row per probe, got shape \(3,\)"),
        (7, r"one row per probe, got shape \(\)"),
        ([[1, 2], [3]], "probes must hold numbers only, got a list"),
        ([["a", "b"]], "probes must hold numbers only, got a list that does not"),
        ("text", "probes must hold numbers only, got a str"),
        (np.array([[1j]]), "probes must hold numbers only, got a ndarray that does not"),
        (pl.LazyFrame({"x": [1]}), "probes must hold numbers only, got a LazyFrame"),
    ],
)
def test_sources_that_are_no_tables(source, match):
    with pytest.raises(InvalidProblem, match=match):
        labelled(source, name="probes")


def test_masked_and_missing_entries_become_nan():
    masked = np.ma.masked_array([[1, 2]], mask=[[False, True]])
    for source in (masked, [[1, None]], pl.DataFrame({"x": [1], "y": pl.Series([None], dtype=pl.Int8)})):
        np.testing.assert_array_equal(labelled(source, name="items").values, [[1, np.nan]])


def test_named_shows_the_first_few():
    assert named("ab") == "'a', 'b'"
    assert named("abcdefg") == "'a', 'b', 'c', 'd', 'e' and 2 more"


CELL = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**9), 10**9))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=6), st.sampled_from(",;\t"))
def test_csv_round_trip_is_exact(tmp_path_factory, rows, separator):
    lines = [
        ["a", "b", "c"],
        ["0.5"] * 3,
        *([repr(cell) for cell in row] for row in rows),
    ]
    path = write(tmp_path_factory.mktemp("csv"), "\n".join(separator.join(line) for line in lines))
    np.testing.assert_array_equal(read_table(path).labelled().values, [[0.5] * 3, *rows])


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet='ab1.5,;\t"\n\r \ufeff_-e', max_size=40))
def test_any_text_gives_a_table_or_one_sentence(tmp_path_factory, text):
    path = write(tmp_path_factory.mktemp("csv"), text)
    try:
        matrix = read_table(path).labelled()
    except InvalidProblem as error:
        assert str(error).endswith(".")  # noqa: PT017
    else:
        assert np.isfinite(matrix.values).all()


def test_table_checks_its_header():
    with pytest.raises(InvalidProblem, match="more than one column called 'x'"):
        Table("probes", ("x", "x"), (np.ones(1), np.ones(1)))


def test_a_reader_that_crashes_or_hangs_is_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "crashing_reader.py").write_text(
        "import os, time\n"
        "def crash(path): os.abort()\n"
        "def hang(path): time.sleep(60)\n"
        "def leave(path): os._exit(0)\n"
        "def grow(path): return bytearray(1 << 40)\n"
        "class Panic(BaseException): pass\n"
        "def panic(path): raise Panic('index out of bounds\\nbacktrace')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, "", name="items.parquet")
    for function, reason in (
        ("crash", "it is damaged, and its reader crashed"),
        ("leave", "it is damaged, and its reader crashed"),
        ("grow", "it needs more memory than a file of its size should"),
        ("panic", "index out of bounds"),
        ("hang", "its reader was not done after 1 s"),
    ):
        monkeypatch.setattr(parquet, "SECONDS", 1 if function == "hang" else 60)
        monkeypatch.setattr(parquet, "READERS", (("crashing_reader", function),))
        with pytest.raises(InvalidProblem, match=rf"^items\.parquet cannot be read as a Parquet file: {reason}\.$"):
            read_table(path)


def test_a_changed_byte_is_a_table_or_a_sentence(tmp_path):
    whole = tmp_path / "items.parquet"
    pl.DataFrame({"id": ["a", "b", None], "x": [1.5, 2.5, 3.5], "day": [None, None, date(2026, 1, 2)]}).write_parquet(
        whole
    )
    table = read_table(whole)
    assert table.column("day").tolist() == [None, None, "2026-01-02"]
    assert table.column("id").tolist() == ["a", "b", None]
    content = whole.read_bytes()
    for at in (len(content) - 5, len(content) // 2, len(content) - 40):
        changed = write_bytes(tmp_path, content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            read_table(changed)
        except InvalidProblem as error:
            assert "\n" not in str(error)  # noqa: PT017


def write_bytes(tmp_path, content):
    path = tmp_path / "changed.parquet"
    path.write_bytes(content)
    return path


def test_what_fails_beside_the_reader_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_CHILD", "raise SystemError('no room')")
    with pytest.raises(InvalidProblem, match=r"cannot be read as a Parquet file: SystemError: no room\.$"):
        read_table(write(tmp_path, "", name="items.parquet"))


def test_row_numbers_are_the_names_that_a_tuple_of_them_would_be():
    names, plain = RowNumbers(12), tuple(map(str, range(12)))
    assert names == plain == names
    assert names != plain[:-1] and names != list(plain) and names == RowNumbers(12) != RowNumbers(11)  # noqa: PT018
    assert hash(names) == hash(plain)
    assert [*names] == [*plain]
    assert names[-1] == plain[-1]
    assert names[np.int64(3)] == "3"
    assert names[2:5] == plain[2:5]
    for name in ("0", "11", "12", "-1", "01", "x", "٣", "1" * 30, 3):
        assert (name in names) == (name in plain)
    assert names.index("7") == 7
    for missing in (("12",), ("7", 8), ("7", 0, 7)):
        with pytest.raises(ValueError, match="no row is called"):
            names.index(*missing)
    with pytest.raises(IndexError):
        names[12]
