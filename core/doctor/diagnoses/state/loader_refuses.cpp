// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/loader_checks.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint)
        return {};
    std::vector<LoaderViolation> violations;
    const Status looked = findLoaderViolations(*context.checkpoint, context.files, context.job, violations);
    for (LoaderViolation& violation : violations) {
        const LoaderCheck& check = loaderCheck(violation.check);
        const Severity severity = violation.bySomeEngines ? Severity::Warning : Severity::Error;
        sink.add(severity, std::move(violation.what), std::move(violation.where),
            {"loader check " + std::to_string(static_cast<int>(check.id)) + " (" + std::string(check.name)
                    + "): " + std::string(check.function),
                "stock DeepSpeed: " + std::string(check.stockSays)});
    }
    return looked;
}

} // namespace

/// Requirements of stock DeepSpeed's loaders that no other diagnosis checks (loader_checks.h).
extern const Diagnosis kLoaderRefuses;
const Diagnosis kLoaderRefuses{
    .code = shardscope::kLoaderRefuses,
    .name = "Stock DeepSpeed refuses to load it",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops with the exception that the finding names.",
        .resuming = "Training cannot resume from these files.",
        .exporting = "Export does not need what is missing."},
    .remedy = "restore the right file; `reshard` rewrites the list of alignment paddings",
    .look = look,
};

} // namespace shardscope::diagnosis
