// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shardscope::test {

/// What NVMe offload would have saved for a ZeRO-3 checkpoint.
struct SwapForm {
    enum class Depth { Ranked, Flat }; ///< offloaded_tensors/rankNN, or all in offloaded_tensors
    Depth depth = Depth::Ranked;
    std::vector<uint32_t> subgroups; ///< those in swap files; the others stay
    bool ids = true; ///< the optimizer files' tensors carry `ds_id`, as torch 2 keeps it
    bool allParams = false; ///< ids of 0.13.0 to 0.13.2, with every parameter's number
    /// The optimizer files hold full tensors with other content, as pipelined swapping leaves them, in place
    /// of empty ones.
    bool pipelined = false;
    std::string device = "nvme"; ///< offload_optimizer's, in the configuration
    std::string version = {}; ///< of DeepSpeed, in the model files; as it is when empty
};

/// Turns the checkpoint in `tagFolder` into that, in place. Its optimizer's states must be fp32 tensors.
void swapOut(const std::filesystem::path& tagFolder, const SwapForm& form);
/// The id that sub-group `number` gets.
std::string swapIdOf(const std::filesystem::path& tagFolder, uint32_t number, bool allParams = false);
/// Moves TAG/offloaded_tensors/rankNN to NVME/zero_stage_3/optimizer/rankN: the run's own folder.
void makeLive(const std::filesystem::path& tagFolder, const std::filesystem::path& nvmePath);

} // namespace shardscope::test
