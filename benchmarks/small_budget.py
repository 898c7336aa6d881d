"""The best guess that 24, 48 or 96 runs can buy, beside what else a laboratory would use.

Three further tables are held back: nothing about the model or the plan is chosen by them, and they are run once at the
end. They are, with the sha256 of their files:

* fullerenes (246 rows, three numbers, mole fraction of the product): the wheel olymp 0.0.1b0,
  olympus/datasets/dataset_fullerenes/data.csv, 87aa0927f0180a0f7d46dffb0b707df5caccc879492dbc0688ac3252414d4441;
* amination (the rows of 4-halobenzotrifluorides, four factors, yield): the repository b-shields/edbo on GitHub,
  experiments/data/aryl_amination/experiment_index.csv,
  88e47ff4ebcd1dac2316eef39813e56933823e05b70a30101d0a2d4edd89c485;
* coupling (3,696 rows, five factors, yield): the same repository, experiments/data/suzuki/experiment_index.csv,
  cc1abd59e4f5f8f87721155bbdde7c6dcf95ff14d66484ca9e71c17c001c9768.
"""
