// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <sys/types.h>

namespace shardscope::far {

/// What the running ssh asks a person for at this moment, as a sentence without its end: with the program
/// that SSH_ASKPASS names, by the words that ssh gives it, or on the terminal. Empty if it asks nothing, or
/// if that is not known. The words can be anybody's.
std::string askedBySsh(pid_t ssh);
/// Ends the program that asks, which would outlive this ssh.
void endAskingOf(pid_t ssh);

} // namespace shardscope::far
