// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardscope::test {

/// Shared test code checks its own steps with doctest's assertions. In this program no doctest case runs: a
/// failed assertion prints itself and ends the program.
void endProgramOnFailedAssertion();

} // namespace shardscope::test
