#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The C compiler for tests that compile tables and kernels as they run: it optimises less, which takes half the time. What the
# compiler makes with all flags is the matter of fused/recipes_test. Read next: oracle/compiler.h.
exec cc "${@/#-O3/-O1}"
