// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/files: diagnoses of single files, for example cut or unnecessarily large ones,
// each in its own file. It uses core/{doctor,torchfile,base}; the build adds each file to the list. Start
// with Diagnosis, and with this file as an example.

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

/// Checks headers only. Readers report more when they read the file.
Status look(const CheckContext& context, FindingSink& sink)
{
    for (const FileHeader& header : context.headers) {
        if (header.bytes == 0 && !header.unreadable)
            sink.add(Severity::Error, "the file is empty", header.name);
        else if (header.noEnd)
            sink.add(
                Severity::Error, header.noEnd->message, header.name, {formatCount(header.bytes) + " bytes"});
    }
    return {};
}

} // namespace

/// The end record of a zip file is missing, or records reach beyond the end of the file.
extern const Diagnosis kFileTorn;
const Diagnosis kFileTorn{
    .code = code::kFileTorn,
    .letter = "F1",
    .name = "A file is truncated",
    .depth = CheckDepth::Headers,
    .worst = Severity::Error,
    .means = {.loading = "torch.load stops: the directory at the end of the zip file is missing.",
        .resuming = "Data after the end of the file is lost; all records before it are complete.",
        .exporting = "Parameters with surviving records can be exported."},
    .remedy = "rebuild the directory from the headers of the records that survived, and refill the rest",
    .repairs = true,
    .threads
    = "LF#6208, PL#20398, kohya-ss/sd-scripts#1245, bmaltais/kohya_ss#2216, sml2h3/dddd_trainer#36, DS#1388",
    .look = look,
};

} // namespace shardscope::diagnosis
