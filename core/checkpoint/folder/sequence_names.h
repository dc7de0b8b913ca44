// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// The number of sequence-parallel ranks that file names contain; 1 if they contain none.
///
/// With Ulysses, a rank of DeepSpeed 0.18.4 takes its place in its sequence group for its model-parallel rank
/// (runtime/engine.py, _get_rank_zero_ckpt_name): `zero_pp_rank_D_mp_rank_MM` with MM = D mod S. All of them
/// are data-parallel ranks of one model slice, and the model file records 1 as `mp_world_size`. True for no
/// set of files that tensor slices or pipeline stages saved: each of these has a file of rank 0.
uint32_t sequenceRanksInNames(const std::vector<CheckpointFile>& files);

/// Whether `degrees` (tp_degree × pp_degree of a model file) may count sequence-parallel ranks, too.
/// DeepSpeed 0.19.8 asks an mpu that describes the sequence group for them (runtime/engine.py,
/// _save_checkpoint). The model then has fewer slices than that, and `dataRanks` are whole sequence groups.
bool countsSequenceRanks(int64_t degrees, int64_t slices, int64_t dataRanks);

} // namespace shardscope
