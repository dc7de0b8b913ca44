// SPDX-License-Identifier: Apache-2.0
#include "ui/session/runs/tag_store.h"

#include "core/base/parallel.h"
#include "core/checkpoint/folder/folder_content.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace shardscope::ui {

namespace {

constexpr std::chrono::milliseconds kPause{40};

} // namespace

TagStore::TagStore(io::FileSystem& files)
    : m_files(files)
{
    m_later.setSingleShot(true);
    m_later.setInterval(kPause);
    connect(&m_later, &QTimer::timeout, this, &TagStore::changed);
}

TagStore::~TagStore() = default;

void TagStore::setRun(const Checkpoint& checkpoint)
{
    const std::string folder = checkpoint.runFolder.filename().string();
    const bool numbered = isNumberedCheckpoint(folder);
    const io::Path run = numbered ? checkpoint.runFolder.parent_path() : checkpoint.runFolder;
    const std::vector<std::string> names
        = numbered ? std::vector<std::string>{folder} : checkpoint.tags; // the others are not listed yet
    const auto isKnown = [&](const std::string& tag) {
        return std::any_of(
            m_tags.begin(), m_tags.end(), [&](const StoredTag& each) { return each.tag == tag; });
    };
    const bool isSame = run == m_run && std::all_of(names.begin(), names.end(), isKnown);
    if (!isSame) {
        clear();
        m_run = run;
        m_numbered = numbered;
        setNames(names);
    }
    m_open = numbered ? folder : checkpoint.tag;
    Q_EMIT changed();
}

void TagStore::clear()
{
    m_reader.cancel();
    m_later.stop();
    m_run.clear();
    m_open.clear();
    m_numbered = false;
    m_tags.clear();
    m_error.reset();
    m_wanted = 0;
}

void TagStore::setNames(const std::vector<std::string>& names)
{
    std::vector<StoredTag> tags;
    for (const std::string& name : names)
        tags.push_back({name, readOf(name)});
    m_tags = std::move(tags);
}

const TagSummary* TagStore::read(const std::string& tag) const
{
    return readOf(tag).get();
}

std::shared_ptr<const TagSummary> TagStore::readOf(const std::string& tag) const
{
    const auto found = std::ranges::find(m_tags, tag, &StoredTag::tag);
    return found == m_tags.end() ? nullptr : found->read;
}

void TagStore::readAgain()
{
    const size_t most = std::exchange(m_wanted, 0);
    for (StoredTag& tag : m_tags)
        tag.read.reset();
    want(std::max<size_t>(most, 1));
}

void TagStore::refresh()
{
    if (m_wanted > 0)
        readAgain();
}

void TagStore::want(size_t most)
{
    if (m_wanted >= most || m_run.empty())
        return;
    m_wanted = most;
    std::set<std::string> known;
    for (const StoredTag& tag : m_tags) {
        if (tag.read)
            known.insert(tag.tag);
    }
    m_reader.run<Delivered>(
        [&files = m_files, run = m_run, known = std::move(known), most](
            const std::stop_token& token, const std::function<void(Delivered)>& deliver) {
            JobContext job(token);
            auto tags = tagsOf(files, run, job);
            if (job.cancelled())
                return;
            if (!tags)
                return deliver({.run = {}, .error = std::move(tags).error(), .tag = {}});
            deliver({.run = *tags, .error = {}, .tag = {}});
            TagReader reader(files, *tags, defaultJobs(), job);
            size_t left = most;
            for (auto name = tags->names.rbegin(); name != tags->names.rend() && left-- > 0; ++name) {
                if (known.contains(*name))
                    continue;
                auto tag = reader.summarize(*name);
                if (job.cancelled())
                    return;
                if (!tag) // an outage: the others are not better off
                    return deliver({.run = {}, .error = std::move(tag).error(), .tag = {}});
                tag->tag = *name;
                deliver({.run = {}, .error = {}, .tag = std::make_shared<const TagSummary>(std::move(*tag))});
            }
        },
        [this](Delivered what) { receive(std::move(what)); });
    Q_EMIT changed();
}

void TagStore::receive(Delivered what)
{
    if (what.run)
        setNames(what.run->names);
    if (what.run || what.error)
        m_error = std::move(what.error);
    const auto at = std::find_if(m_tags.begin(), m_tags.end(),
        [&](const StoredTag& each) { return what.tag && each.tag == what.tag->tag; });
    if (at != m_tags.end())
        at->read = std::move(what.tag);
    if (!m_later.isActive())
        m_later.start();
}

} // namespace shardscope::ui
