// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hostile/hostile_fixture.h"

namespace shardscope::test {

/// Files of zero2-w2 that are replaced by hostile ones.
inline const std::string kOptimFile = "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
inline const std::string kModelFile = "global_step6/mp_rank_00_model_states.pt";

using DamageFile = std::function<void(const std::filesystem::path& file)>;

/// One rank's file, and then the only model file, is made unreadable: every verb ends as the table asks,
/// findings and refusals name the file and say `word`.
void checkUnreadable(const std::string& name, const std::string& word, const DamageFile& damage);
/// The file stays readable: the same, with the rows given.
void checkReadable(const std::string& name, const std::string& word, const Row& optim, const Row& model,
    const DamageFile& damage);
/// The problem of the file is reported (`word`) and causes no harm: all verbs work, and what a reshard makes
/// of it is the same training state.
void checkHarmless(const std::string& name, const std::string& word, const DamageFile& damage);

} // namespace shardscope::test
