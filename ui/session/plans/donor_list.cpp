// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/donor_list.h"

#include "core/base/parallel.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/run_tags.h"
#include "ui/session/runs/tag_rows.h"
#include "ui/text/text.h"

#include <QStringList>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kMaxDonors = 12;

QString stepText(const TagSummary& tag, std::optional<int64_t> own)
{
    if (!tag.steps.globalSteps)
        return {};
    const int64_t step = *tag.steps.globalSteps;
    const QString text = u"step %1"_s.arg(step);
    if (!own || step == *own)
        return text;
    return text % u", "_s % (step < *own ? u"%1 before"_s.arg(*own - step) : u"%1 after"_s.arg(step - *own));
}

/// What values can be taken from, as rank 0's files show it.
QString statesText(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    OpenOptions open;
    open.depth = OpenDepth::Structure;
    const auto tag = openCheckpoint(files, folder, open, job);
    QStringList states;
    for (const std::string& state : tag ? tag->checkpoint->stateNames() : std::vector<std::string>{})
        states.append(toText(state));
    return states.isEmpty() ? QString() : u"has %1"_s.arg(states.join(u", "_s));
}

} // namespace

std::vector<DonorChoice> listDonors(
    io::FileSystem& files, const CheckPlace& place, const std::stop_token& token)
{
    std::vector<DonorChoice> donors;
    JobContext job(token);
    const auto run = tagsOf(files, place.path, job);
    if (!run)
        return donors;
    TagReader reader(files, *run, defaultJobs(), job);
    const std::string own = place.tagFolder.filename().native();
    const auto isOwn = std::find(run->names.begin(), run->names.end(), own);
    const auto at = isOwn - run->names.begin();
    std::vector<size_t> order;
    for (size_t i = 0; i < run->names.size(); ++i) {
        if (run->names[i] != own)
            order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [at](size_t a, size_t b) {
        return std::abs(static_cast<ptrdiff_t>(a) - at) < std::abs(static_cast<ptrdiff_t>(b) - at);
    });
    std::optional<int64_t> step;
    if (isOwn != run->names.end()) {
        if (const auto summary = reader.summarize(own))
            step = summary->steps.globalSteps;
    }
    for (size_t i = 0; i < std::min(order.size(), kMaxDonors); ++i) {
        const auto tag = reader.summarize(run->names[order[i]]);
        if (!tag)
            break; // cancelled
        QStringList facts{
            toText(tag->tag), stepText(*tag, step), tagStateText(*tag), statesText(files, tag->folder, job)};
        facts.removeAll(QString());
        donors.push_back(
            {QString::fromStdString(tag->folder.native()), facts.join(u" · "_s), tag->isComplete()});
    }
    return donors;
}

} // namespace shardscope::ui
