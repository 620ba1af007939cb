"""Train one experiment: python pipelines/train.py configs/digits_m1m2_50.toml runs/mine."""

import sys

from tfssl import load_settings, train

if __name__ == "__main__":
    config, run_dir = sys.argv[1:3]
    run = train(load_settings(config), run_dir)
    print(run.folder.read_json("metrics.json")["test"])
