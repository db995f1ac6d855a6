# SPDX-License-Identifier: Apache-2.0
"""Rules that build plugins and the device code of the core.

A room's BUILD file is one line, tsr_room(role, widths): a plugin is two files and no edit. A plugin outside this
workspace calls tsr_plugin. Which compilers are used comes from the environment, see .bazelrc. Read next:
build_plugin.sh, which does the work.
"""

_SDK = Label("//plugins:sdk")
_SCRIPTS = Label("//plugins:build_scripts")
_SDK_ROOT = _SDK.workspace_root or "."

def _script(name):
    return str(Label("//plugins:" + name))

def tsr_plugin(name, role, widths, visibility = None):
    """Builds <role>_<name>.so from <name>.c and <name>.cuh.

    Args:
      name: the plugin's name, that of its files.
      role: layout, probing, hasher, allocator or eviction.
      widths: what its code depends on: key_payload, key or none.
      visibility: of the target.
    """
    native.genrule(
        name = name,
        srcs = [name + ".c", name + ".cuh", str(_SDK)],
        outs = ["%s_%s.so" % (role, name)],
        cmd = " ".join([
            "bash $(execpath %s)" % _script("build_plugin.sh"),
            "--role %s --name %s --widths %s" % (role, name, widths),
            "--sdk-root %s --out $@" % _SDK_ROOT,
            "$(execpath %s.c) $(execpath %s.cuh)" % (name, name),
        ]),
        message = "Building plugin",
        tools = [_script("build_plugin.sh"), str(_SCRIPTS)],
        visibility = visibility,
    )

def tsr_room(role, widths):
    """Builds every plugin of the package: one tsr_plugin per .c file; `plugins`, all of them, and their `sources`.

    Args:
      role: the role that the room holds.
      widths: what code of this role depends on: key_payload, key or none.
    """
    names = [source[:-len(".c")] for source in native.glob(["*.c"], allow_empty = True)]
    for name in names:
        tsr_plugin(
            name = name,
            role = role,
            visibility = ["//visibility:public"],
            widths = widths,
        )
    native.filegroup(
        name = "plugins",
        srcs = names,
        visibility = ["//visibility:public"],
    )
    native.filegroup(
        name = "sources",
        srcs = native.glob(["*.c", "*.cuh"], allow_empty = True),
        visibility = ["//visibility:public"],
    )

def tsr_device_image(name, src, symbol, widths, hdrs = [], defines = [], visibility = None):
    """A cc_library that defines `const tsr_image <symbol>[]`: the device code of src, one row per width.

    Rows name no functions; a row of zeros ends them. Without nvcc it is the only row.

    Args:
      name: of the library.
      src: the device source.
      symbol: of the array.
      widths: what the source depends on: key_payload, key or none.
      hdrs: what the source includes, besides the SDK.
      defines: macros of the source, `NAME=value`.
      visibility: of the library.
    """
    native.genrule(
        name = name + "_object",
        srcs = [src, str(_SDK)] + hdrs,
        outs = [name + ".pic.o"],
        cmd = " ".join([
            "bash $(execpath %s)" % _script("build_images.sh"),
            "--widths %s --symbol %s" % (widths, symbol),
            "--sdk-root %s --out $@ $(execpath %s)" % (_SDK_ROOT, src),
        ] + ["-D" + define for define in defines]),
        message = "Building device code",
        tools = [_script("build_images.sh"), str(_SCRIPTS)],
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = [name + ".pic.o"],
        linkstatic = True,
        visibility = visibility,
    )
