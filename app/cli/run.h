// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardscope::cli {

/// Runs one command line of `shardscope` and returns its exit code.
/// `shardscope-gui --headless …` calls only this. It does not use Qt.
int run(int argc, char** argv);

} // namespace shardscope::cli
