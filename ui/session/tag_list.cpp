// SPDX-License-Identifier: Apache-2.0
#include "ui/session/tag_list.h"

#include "core/base/parallel.h"
#include "core/engine/verify/run_tags.h"
#include "ui/text/text.h"

#include <QDateTime>
#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;

TagFacts factsOf(const TagSummary& tag)
{
    TagFacts out{tag.tag, tagStateText(tag), {}, tag.isComplete()};
    if (tag.error)
        return out;
    QStringList what;
    if (tag.steps.globalSteps)
        what.append(u"step %1"_s.arg(*tag.steps.globalSteps));
    const uint32_t ranks = tag.parallel.ranks();
    what << kindText(tag.kind) << (ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(countText(ranks)));
    const QDateTime when = QDateTime::fromMSecsSinceEpoch(tag.modifiedNs / kNsPerMs);
    out.lines = {what.join(u" · "_s), bytesText(tag.bytes) % u" · "_s % when.toString(u"yyyy-MM-dd HH:mm"_s)};
    return out;
}

} // namespace

QString tagStateText(const TagSummary& tag)
{
    if (tag.error)
        return u"cannot be read"_s;
    const size_t errors = tag.count(Severity::Error);
    return errors == 0 ? u"complete"_s : errors == 1 ? u"1 error"_s : u"%1 errors"_s.arg(errors);
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
