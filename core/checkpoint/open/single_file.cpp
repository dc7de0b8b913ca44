// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/single_file.h"

#include "core/checkpoint/dcp/dcp_reader.h"
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/open/weights_reader.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/torch_tensors.h"

namespace shardscope {

Status openSingleFile(io::FileSystem& files, const Discovery& found, JobContext& job, Checkpoint& out)
{
    CheckpointFile file;
    file.path = found.tagFolder / found.selectedFile;
    file.name = found.selectedFile;
    out.kind = found.foreignKind;
    out.fullyRead = true;
    Hint hint;
    if (isUnknown(out.kind) && isWeightsIndex(file.name))
        return readWeightsIndex(files, file.path, job, out);
    if (isUnknown(out.kind) && io::Path(file.name).filename() == kDcpMetadataName)
        return readDistributed(files, found.tagFolder, job, out);
    if (isUnknown(out.kind) && file.name == kNpyIndexName)
        return readNpyWeights(files, found.tagFolder, job, out);
    if (isUnknown(out.kind)) {
        SHARDSCOPE_TRY(const bool weights, isSafetensorsFile(files, file.path));
        if (weights)
            return readWeightsFile(files, file.path, job, out);
        auto opened = TorchFile::open(files, file.path, ReadMode::Tolerant, job);
        if (opened && isStateDict((*opened)->pickle())) {
            out.findings = (*opened)->findings();
            return readWeightsFile(files, file.path, job, out);
        }
        if (opened) {
            file.content = std::move(*opened);
            file.recordCount = file.content->zip().recordCount();
            out.findings = file.content->findings();
            out.kind = CheckpointKind::Weights;
        } else if (opened.error().code == ErrorCode::Unsupported) {
            out.whyNot = opened.error().message;
            hint = opened.error().hint;
        } else {
            return forward(std::move(opened).error());
        }
    }
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(file.path));
    file.identity = file.content ? file.content->identity() : info.identity;
    if (out.whyNot.empty())
        out.whyNot = "the file belongs to no DeepSpeed checkpoint; its records can be listed";
    out.modelError = Error{ErrorCode::Unsupported, out.whyNot, file.path.string(), std::move(hint)};
    out.files.push_back(std::move(file));
    return {};
}

} // namespace shardscope
