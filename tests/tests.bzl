# SPDX-License-Identifier: Apache-2.0
#
# What the tests' BUILD files share.

# The plugins of all folders.
PLUGINS = [
    "//allocators:plugins",
    "//eviction:plugins",
    "//hashers:plugins",
    "//layouts:plugins",
    "//probing:plugins",
]

# For programs of tests that are no tests themselves.
GTEST = [
    "-lgtest_main",
    "-lgtest",
    "-lpthread",
]

def tsr_test(name, size = "medium", srcs = None, linkopts = [], **kwargs):
    """A test of GoogleTest's: NAME.cc, unless srcs says otherwise."""
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"] if srcs == None else srcs,
        linkopts = GTEST + linkopts,
        **kwargs
    )

def tsr_bash_test(name, size = "small", srcs = None, deps = ["//tests/cli:harness"], **kwargs):
    """A test in bash: NAME.sh, unless srcs says otherwise."""
    native.sh_test(
        name = name,
        size = size,
        srcs = [name + ".sh"] if srcs == None else srcs,
        deps = deps,
        **kwargs
    )
