pytest_plugins = ["group_times"]
