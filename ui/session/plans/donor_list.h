// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/check_run.h"

#include <QString>

#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// A tag of the run that lost values can be taken from.
struct DonorChoice {
    QString folder;
    QString text; ///< "global_step3 · step 3, 3 before · complete · has exp_avg, exp_avg_sq, fp32"
    bool isComplete = false;
};

/// The other tags of the run that the checkpoint at `place` belongs to, the nearest ones first; at most a
/// dozen. Reads names and headers of their files. For a worker thread.
std::vector<DonorChoice> listDonors(
    io::FileSystem& files, const CheckPlace& place, const std::stop_token& token);

} // namespace shardscope::ui
