// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"

#include <span>

namespace shardscope {

/// Usage if `file`, which is to be written, would be inside a checkpoint that is read, or one of its files,
/// also through links and bind mounts. `sources`: the paths of what is read, as they were given. Protected
/// are the tag folder, the run folder where it is recognised as one (it has `latest` or several tags, or it
/// was given), a framework's numbered checkpoints, and the files of weights. What cannot be opened at all is
/// not protected.
Status checkOutsideSources(
    io::FileSystem& files, const io::Path& file, std::span<const io::Path> sources, JobContext& job);

} // namespace shardscope
