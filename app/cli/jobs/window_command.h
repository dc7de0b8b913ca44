// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"

namespace shardscope::cli {

/// With --copy: lets the terminal copy the command that opens the page of this command in the window, with
/// its address, parameter or rank, and shows it. In a session of ssh it has paths of this host,
/// `USER@HOST:/path`, for the machine in front of the user. Says why nothing is copied: without a terminal,
/// and for a command that is too long or has characters that cannot be shown.
void copyWindowCommand(const Session& session);

} // namespace shardscope::cli
