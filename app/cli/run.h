// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardscope::cli {

/// Runs one command line of `shardscope` and returns its exit code.
/// Also the whole of `shardscope-gui --headless …`; it never touches Qt.
int run(int argc, char** argv);

} // namespace shardscope::cli
