// SPDX-License-Identifier: Apache-2.0
#include "ui/models/tag_list.h"

#include "core/base/parallel.h"
#include "core/engine/verify/run_tags.h"
#include "ui/text/text.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::TagList)
};

TagFacts factsOf(const TagSummary& tag)
{
    TagFacts out{tag.tag, tagStateText(tag), {}, tag.isComplete()};
    if (tag.error)
        return out;
    QStringList what;
    if (tag.steps.globalSteps)
        what.append(Words::tr("step %1").arg(*tag.steps.globalSteps));
    const uint32_t ranks = tag.parallel.ranks();
    what << kindText(tag.kind)
         << (ranks == 1 ? Words::tr("1 rank") : Words::tr("%1 ranks").arg(countText(ranks)));
    const QDateTime when = QDateTime::fromMSecsSinceEpoch(tag.modifiedNs / kNsPerMs);
    out.lines = {what.join(u" · "_s), bytesText(tag.bytes) % u" · "_s % when.toString(u"yyyy-MM-dd HH:mm"_s)};
    return out;
}

} // namespace

QString tagStateText(const TagSummary& tag)
{
    if (tag.error)
        return Words::tr("cannot be read");
    const size_t errors = tag.count(Severity::Error);
    return errors == 0 ? Words::tr("complete")
        : errors == 1  ? Words::tr("1 error")
                       : Words::tr("%1 errors").arg(errors);
}

void readTagFacts(io::FileSystem& files, const CheckPlace& place, const std::stop_token& token,
    const std::function<void(TagFacts)>& deliver)
{
    JobContext job(token);
    const auto run = tagsOf(files, place.path, job);
    if (!run)
        return;
    TagReader reader(files, *run, defaultJobs(), job);
    size_t left = kMostTags;
    for (auto name = run->names.rbegin(); name != run->names.rend() && left > 0; ++name, --left) {
        const auto tag = reader.summarize(*name);
        if (!tag)
            return; // cancelled
        TagFacts facts = factsOf(*tag);
        facts.tag = *name;
        deliver(std::move(facts));
    }
}

} // namespace shardscope::ui
