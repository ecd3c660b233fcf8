"""Run the console command as `python -m divbench`, also where its folder is not on the PATH."""

from divbench.command_line import main

if __name__ == "__main__":
    main()
