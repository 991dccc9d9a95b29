"""Kauldron's program for looking at configs, started as it should be.

Run as a program: ``python -m snippets.kauldron_cli config show --cfg=config.py``. Its
module defines flags when it is imported, so it is imported only then.
"""


def main() -> None:
    """Start the program with the parser that its release forgets."""
    from absl import app
    from kauldron.cli import main as cli

    app.run(cli.main, flags_parser=cli.flag_parser)


if __name__ == "__main__":
    main()
