// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/reading_state.h"

#include "core/base/finding_codes.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <utility>

namespace shardscope {

bool Reading::hasNoValues() const
{
    return holdsNoValues(files, out.tagFolder);
}

void Reading::refuse(std::string why) const
{
    if (out.modelError && out.modelError->code == ErrorCode::Unsupported)
        return;
    out.supported = false;
    out.whyNot = why;
    out.modelError = Error{ErrorCode::Unsupported,
        "this checkpoint is recognised, but not supported yet: " + why, out.tagFolder.string(), {}};
    add(code::kNotSupported, Severity::Info, std::move(why), {});
}

void Reading::stop(const Status& steps) const
{
    if (!steps && steps.error().code == ErrorCode::Unsupported)
        refuse(steps.error().message);
    else if (!steps && !out.modelError)
        out.modelError = steps.error();
}

} // namespace shardscope
