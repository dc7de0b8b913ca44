// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room app/cli: the program `shardscope`, which parses one command line, runs its verb and reports its error;
// app/gui calls it for `--headless`. Start with run().

namespace shardscope::cli {

/// Runs one command line of `shardscope` and returns its exit code.
/// `shardscope-gui --headless …` calls only this. It does not use Qt.
int run(int argc, char** argv);

} // namespace shardscope::cli
