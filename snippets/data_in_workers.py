"""A script whose pipeline has worker processes; the chapter *data* runs it."""

import numpy as np
from absl import app
from kauldron import kd


def main(arguments: list[str]) -> None:
    """Print the batches of ten numbers, made in this process and by two workers."""
    ten = [{"n": np.int32(n)} for n in range(10)]
    for workers in (0, 2):
        pipeline = kd.data.py.DataSource(
            ten,
            shuffle=False,
            batch_size=2,
            num_epochs=1,
            seed=0,
            num_workers=workers,
        )
        print(workers, "workers:", [batch["n"].tolist() for batch in pipeline])


if __name__ == "__main__":
    app.run(main)
