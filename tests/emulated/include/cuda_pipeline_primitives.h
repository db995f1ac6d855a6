// SPDX-License-Identifier: Apache-2.0
//
// In place of CUDA's: ../block.h has what it declares.
