"""Does the module keep its promises in servers that are no packages of Debian?

    servers_test.py redis-6.2|valkey FOLDER_OF_TESTS FOLDER_TO_INSTALL_INTO

Runs tests of the module with WEIR_TEST_REDIS; what cannot be asked there is left out by name.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "server" / "clients"))
import toolchains  # noqa: E402

SERVERS = {
    # It has no Functions, no key specifications, no selectors in ACL, no PEXPIRETIME, and a cluster
    # of it takes a port of its own choice.
    "redis-6.2": ("redis-server", {
        "module_crash_hunt_test": "-CrashHunt.AKeyOfAnyOtherKindIsAnErrorAndStays"
                                  ":CrashHunt.WorksInLuaAndInFunctions"
                                  ":CrashHunt.TellsTheServerItsKeysAndWhatItDoes"
                                  ":CrashHunt.AUserTakesFromItsOwnKeysOnly:ModuleInACluster.*",
        "module_client_test": "-ClientAndModule.CountsOnInTheStatesOfTheScripts"
                              ":ClientAndModule.AClusterOfWhichSomeNodesLackIt",
        "module_in_redis_test": "ModuleInRedis.DecidesAsThePureMachines",
    }),
    # Between two ticks it counts its own time on, so a test that sets the clock cannot compare
    # what it decides; and what migrates there may expire a millisecond off.
    "valkey": ("valkey-server", {
        "module_crash_hunt_test": "*",
        "module_client_test": "*",
        "module_kept_elsewhere_test": "-KeptElsewhere.AReplicaOfAnotherClockHoldsTheSameBytesAsLong"
                                      ":KeptElsewhere.MigratedIsTheSame",
    }),
}


def main() -> int:
    name, tests = sys.argv[1], pathlib.Path(sys.argv[2])
    folder = pathlib.Path(sys.argv[3]) / name
    program, filters = SERVERS[name]
    try:
        toolchains.wheels(folder, HERE / "servers" / name / "requirements.txt")
    except toolchains.NotInstalled as missing:
        print(f"{name} cannot be installed: {missing}")
        return 77
    found = next(path for path in sorted(folder.rglob(program)) if path.is_file())
    found.chmod(0o755)
    environment = dict(os.environ, WEIR_TEST_REDIS=str(found))
    failed = 0
    for test, chosen in filters.items():
        print(f"== {test} in {name}", flush=True)
        failed |= subprocess.run([tests / test, f"--gtest_filter={chosen}", "--gtest_brief=1"],
                                 env=environment).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
