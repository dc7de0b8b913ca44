// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/location: diagnoses of files that are missing, or in another folder or on
// another machine, each in its own file. It uses core/{doctor,base}; the build adds each file to the list.
// Start with Diagnosis, and with this file as an example.

#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    const Discovery& found = context.found;
    if (found.tagFolder.empty() || found.runFolder.empty())
        return {};
    SHARDSCOPE_TRY(const io::Path asked, context.files.canonical(context.asked));
    if (asked == found.tagFolder)
        sink.add(Severity::Info, "the path is the tag folder itself", {},
            {"`load_checkpoint` of stock DeepSpeed expects the parent folder, with tag=`" + found.tag + "`",
                found.latest && *found.latest == found.tag ? "`latest` names it, so the tag can be omitted"
                                                           : "`latest` does not name it"});
    else if (asked != found.runFolder && found.selectedFile.empty())
        sink.add(Severity::Info, "the path is a parent of the run folder", {},
            {"the run folder of stock DeepSpeed is " + found.runFolder.string()});
    return {};
}

} // namespace

/// A path at another folder level than stock DeepSpeed expects.
extern const Diagnosis kWrongLevel;
const Diagnosis kWrongLevel{
    .code = "wrong-level",
    .letter = "L3",
    .name = "Wrong folder level",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed finds nothing at this level; this program finds the right one."},
    .noRemedy = "nothing is wrong with the checkpoint; use the folder that is shown",
    .threads = "HF#12427, DS#7663, OpenRLHF/OpenRLHF#157",
    .look = look,
};

} // namespace shardscope::diagnosis
