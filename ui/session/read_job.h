// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/job.h"
#include "ui/session/check_run.h"

namespace shardscope::ui {

class FingerprintStore;

// Jobs that read the checkpoint that is shown. They open its files again, so that they report what is on the
// disk now, and can be started again. Not yet started; JobList::add does that.

/// Reads every byte and compares it with checksums and the manifest, as `shardscope verify` does.
Job* makeVerifyJob(io::FileSystem& files, const PlacedCheckpoint& shown, FingerprintStore& fingerprints);
/// The fingerprint of the training state. `fingerprints` gets it, too, unless files have changed since they
/// were read; it outlives the job.
Job* makeFingerprintJob(io::FileSystem& files, const PlacedCheckpoint& shown, FingerprintStore& fingerprints);
/// Where a skeleton is written.
struct SkeletonTarget {
    io::Path path;
    bool replaces = false; ///< the user has agreed to replace the file that is there
};
/// Writes the checkpoint without its values as one zip file. A job that is started again replaces no file
/// that was created since.
Job* makeSkeletonJob(io::FileSystem& files, const PlacedCheckpoint& shown, const SkeletonTarget& to);

} // namespace shardscope::ui
