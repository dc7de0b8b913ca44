// SPDX-License-Identifier: Apache-2.0
#include "app/cli/schemas.h"

#include "app/cli/frame/help.h"
#include "app/cli/frame/version.h"
#include "app/cli/verbs/verbs.h"
#include "core/plan/saved/saved_plan.h"
#include "core/report/answers/check_report.h"
#include "core/report/answers/clean_report.h"
#include "core/report/answers/diff_report.h"
#include "core/report/answers/emit_report.h"
#include "core/report/answers/files_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/answers/health_report.h"
#include "core/report/answers/inspect_report.h"
#include "core/report/jobs/jobs_report.h"
#include "core/report/answers/params_report.h"
#include "core/report/answers/plan_report.h"
#include "core/report/answers/show_report.h"
#include "core/report/answers/skeleton_report.h"
#include "core/report/answers/stats_report.h"
#include "core/report/answers/tags_report.h"
#include "core/report/answers/verify_report.h"
#include "core/report/layout/layout_report.h"
#include "core/serve/file_calls.h"
#include "core/serve/messages.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardscope::cli {

namespace {

struct AnswerSchema {
    std::string_view name;
    std::string (*text)();
};

constexpr AnswerSchema kSchemas[] = {
    {"check", checkSchema},
    {"clean", cleanSchema},
    {"completion", completionSchema},
    {"convert", [] { return planSchema("convert"); }},
    {"diff", diffSchema},
    {"emit", emitSchema},
    {"ensure", ensureSchema},
    {"error", errorSchema},
    {"export", [] { return planSchema("export"); }},
    {"files", filesSchema},
    {"fingerprint", fingerprintSchema},
    {"health", healthSchema},
    {"help", helpSchema},
    {"inspect", inspectSchema},
    {"jobs", jobsSchema},
    {"layout", layoutSchema},
    {"params", paramsSchema},
    {"plan", [] { return planSchema("plan"); }},
    {"progress", progressSchema},
    {"repair", [] { return planSchema("repair"); }},
    {"reshard", [] { return planSchema("reshard"); }},
    {"run", [] { return planSchema("run"); }},
    {"saved-plan", savedPlanSchema},
    {"serve-file-results", serve::fileResultsSchema},
    {"serve-files", serve::fileCallsSchema},
    {"serve-reply", serve::replySchema},
    {"serve-request", serve::requestSchema},
    {"show", showSchema},
    {"skeleton", skeletonSchema},
    {"stats", statsSchema},
    {"tags", tagsSchema},
    {"verify", verifySchema},
    {"version", versionSchema},
};

} // namespace

bool writeSchemas(const std::string& folder)
{
    std::error_code ignored; // then no file can be written
    std::filesystem::create_directories(folder, ignored);
    return std::ranges::all_of(kSchemas, [&](const AnswerSchema& schema) {
        std::ofstream file(folder + "/" + std::string(schema.name) + ".json");
        file << schema.text();
        return file.flush().good();
    });
}

} // namespace shardscope::cli
