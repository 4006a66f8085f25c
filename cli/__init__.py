"""The console command `answer-ranking`: a file per group of subcommands."""
