// SPDX-License-Identifier: Apache-2.0
#include "ui/session/session.h"

#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "ui/jobs/free_later.h"
#include "ui/session/fingerprint_store.h"
#include "ui/session/runs/tag_store.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace shardscope::ui {

namespace {

constexpr std::chrono::seconds kPollPause{5};

FileId fileByName(const Checkpoint& checkpoint, const std::string& name)
{
    for (size_t i = 0; i < checkpoint.files.size(); ++i)
        if (checkpoint.files[i].name == name)
            return FileId{static_cast<uint32_t>(i)};
    return kNoFile;
}

bool sameLayout(const FlatUnit& a, const FlatUnit& b)
{
    return a.kind == b.kind && a.group == b.group && a.subgroup == b.subgroup
        && a.partition.partitionElements() == b.partition.partitionElements()
        && a.partition.ranks() == b.partition.ranks();
}

io::Path wholePath(const io::Path& path)
{
    std::error_code failed;
    const io::Path whole
        = path.empty() || far::isElsewhere(path) ? path : std::filesystem::absolute(path, failed);
    return failed ? path : whole;
}

/// Null if there are none.
RunsFolderPtr runsIn(io::FileSystem& files, const io::Path& path, const Error& why, JobContext& job)
{
    auto runs = runsInsteadOf(files, path, why, job);
    return runs && !runs->found.paths.empty() ? std::make_shared<const RunsFolder>(std::move(*runs))
                                              : nullptr;
}

} // namespace

SelectedThing translated(const SelectedThing& thing, const Checkpoint& from, const Checkpoint& to)
{
    SelectedThing result;
    result.state = thing.state;
    const uint32_t rows = isStage0(to.kind) ? 1 : rankCount(to); // without ZeRO all ranks hold the same
    if (thing.rank && *thing.rank < rows)
        result.rank = thing.rank;
    if (thing.param != kNoParam && index(thing.param) < from.params.size())
        result.param = to.findParam(from.params[index(thing.param)].name).value_or(kNoParam);
    if (result.param != kNoParam && thing.element && *thing.element < to.params[index(result.param)].elements)
        result.element = thing.element;
    if (thing.unit != kNoUnit && index(thing.unit) < from.units.size() && index(thing.unit) < to.units.size()
        && sameLayout(from.units[index(thing.unit)], to.units[index(thing.unit)])) {
        result.unit = thing.unit;
        result.block = thing.block;
    }
    if (thing.file != kNoFile && index(thing.file) < from.files.size()) {
        result.file = fileByName(to, from.files[index(thing.file)].name);
        if (result.file != kNoFile) {
            result.record = thing.record;
            result.byte = thing.byte;
        }
    }
    return result;
}

OpenedPlace placeToReopen(const Checkpoint& checkpoint, OpenedPlace opened, bool followsLatest)
{
    if (opened.salvage) // what it is of is not where it is
        return opened;
    const bool isLatest = checkpoint.latest && *checkpoint.latest == checkpoint.tag;
    if (!checkpoint.runFolder.empty()) {
        opened.path = checkpoint.runFolder;
        opened.tag = followsLatest && isLatest ? std::string() : checkpoint.tag;
    } else if (!checkpoint.tagFolder.empty()
        && (!opened.tag.empty() || (isDistributed(checkpoint.kind) && !followsLatest))) {
        // Of the steps of a distributed checkpoint, and of weights that a tag names, the folder that was
        // read.
        opened.path = checkpoint.tagFolder;
        opened.tag.clear();
    }
    return opened;
}

Session::Session(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
    , m_tags(std::make_unique<TagStore>(files))
    , m_fingerprints(std::make_unique<FingerprintStore>())
{
    m_poll.setInterval(kPollPause);
    connect(&m_poll, &QTimer::timeout, this, &Session::lookAtFolders);
}

Session::~Session() = default;

void Session::open(const io::Path& path, const std::string& tag)
{
    open({path, tag, {}, false});
}

void Session::open(OpenedPlace place)
{
    // Commands that name it are for any folder.
    place.path = wholePath(place.path);
    for (io::Path& root : place.roots)
        root = wholePath(root);
    const bool refining = m_checkpoint && place == m_shown;
    m_place = std::move(place);
    read(refining);
}

void Session::addFolder(const io::Path& folder)
{
    if (!m_checkpoint)
        return open(folder);
    const bool isDonor = isSwapKind(m_checkpoint->kind);
    m_place.salvage = m_place.salvage || isDonor;
    m_place.roots.push_back(isDonor ? std::exchange(m_place.path, folder) : folder);
    read(false);
}

void Session::openTag(const std::string& tag)
{
    if (!m_checkpoint || m_checkpoint->runFolder.empty())
        return;
    const bool isNumbered = m_tags->isNumbered() && isNumberedCheckpoint(tag);
    m_place.path = isNumbered ? m_tags->folder() : m_checkpoint->runFolder;
    m_place.tag = tag;
    read(false);
}

void Session::read(bool refining)
{
    m_staged = false;
    m_watcher.cancel();
    m_opening = true;
    Q_EMIT openingChanged(true);
    m_opener.run<Stage>(
        [&files = m_files, place = m_place, isFirst = m_checkpoint == nullptr](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext job(token, [&deliver](const Progress& progress) {
                Stage stage;
                stage.progress = toText(progress.phase);
                if (progress.bytesTotal > 0)
                    stage.progress
                        += u' ' % bytesText(progress.bytesDone) % u" / " % bytesText(progress.bytesTotal);
                deliver(std::move(stage));
            });
            OpenOptions options;
            options.tag = place.tag;
            options.roots = place.roots;
            options.salvage = place.salvage;
            options.kind = place.kind;
            far::connectAgainTo(place.roots);
            far::connectAgainTo(std::span(&place.path, 1));
            for (const OpenDepth depth : {OpenDepth::Structure, OpenDepth::Full}) {
                options.depth = depth;
                Stage stage;
                stage.result = openCheckpoint(files, place.path, options, job);
                if (!*stage.result && stage.result->error().hint.text == Hint::omit("--kind").text)
                    stage.result->error().hint = (isFirst ? tr("Open it without a kind.")
                                                          : tr("Choose another kind under File > Open As."))
                                                     .toStdString();
                if (*stage.result)
                    stage.looks = freedOnWorker(mapLooks(*(*stage.result)->checkpoint));
                else if (place.roots.empty()) // else it may be one of these that cannot be opened
                    stage.runs = runsIn(files, place.path, stage.result->error(), job);
                stage.last = depth == OpenDepth::Full || !*stage.result;
                if (job.cancelled())
                    return;
                const bool last = stage.last;
                deliver(std::move(stage));
                if (last)
                    return;
            }
        },
        [this, refining](Stage stage) { receive(std::move(stage), refining); });
}

void Session::receive(Stage stage, bool refining)
{
    if (!stage.result) {
        Q_EMIT progressChanged(stage.progress);
        return;
    }
    if (!*stage.result && m_checkpoint)
        m_place = m_shown; // before anybody asks for the path of what is shown
    if (stage.last) {
        m_opening = false;
        Q_EMIT progressChanged({});
        Q_EMIT openingChanged(false);
    }
    if (stage.runs) {
        m_runs = std::move(stage.runs);
        Q_EMIT runsFound();
        return;
    }
    if (!*stage.result) {
        Q_EMIT openFailed(stage.result->error());
        return;
    }
    m_shown = m_place;
    m_looks = std::move(stage.looks);
    show(std::move(**stage.result), refining || m_staged);
    m_staged = true;
}

void Session::show(OpenedCheckpoint opened, bool refined)
{
    if (!refined)
        Q_EMIT leaving();
    const CheckpointPtr former = std::exchange(m_checkpoint, freedOnWorker(std::move(opened.checkpoint)));
    m_tags->setRun(*m_checkpoint);
    beginWatching();
    SelectedThing thing;
    if (refined && former)
        thing = translated(m_selection.current(), *former, *m_checkpoint);
    else if (!opened.selectedFile.empty())
        thing.file = fileByName(*m_checkpoint, opened.selectedFile);
    // Views drop their old ids before they receive the new snapshot, and apply the selection after it.
    m_selection.clear();
    Q_EMIT checkpointChanged(m_checkpoint, refined);
    m_selection.select(std::move(thing));
}

void Session::reload()
{
    m_tags->refresh();
    if (!m_place.path.empty())
        read(m_checkpoint != nullptr && m_place == m_shown);
}

void Session::stopReading()
{
    m_opener.cancel();
    m_watcher.cancel();
    if (std::exchange(m_opening, false)) {
        Q_EMIT progressChanged({});
        Q_EMIT openingChanged(false);
    }
}

void Session::close()
{
    Q_EMIT leaving();
    m_opener.cancel();
    m_watcher.cancel();
    if (!m_checkpoint)
        m_runs.reset();
    m_tags->clear();
    m_place = {};
    if (m_runs)
        m_place.path = m_runs->path; // for reload()
    m_shown = {};
    m_selection.clear();
    m_checkpoint.reset();
    m_looks.reset();
    m_poll.stop();
    m_folderLook.cancel();
    if (std::exchange(m_opening, false))
        Q_EMIT openingChanged(false);
    Q_EMIT checkpointChanged(nullptr, false);
}

void Session::showAgain(const ReadCheckpoint& read, const SelectedThing& thing)
{
    stopReading();
    Q_EMIT leaving();
    m_place = read.place;
    m_shown = read.place;
    m_looks = read.looks;
    m_checkpoint = read.checkpoint;
    m_tags->setRun(*m_checkpoint);
    beginWatching();
    m_selection.clear();
    Q_EMIT checkpointChanged(m_checkpoint, false);
    m_selection.select(thing);
    if (!m_checkpoint->fullyRead)
        reload();
    else
        checkOnDisk();
}

CheckPlace Session::place() const
{
    CheckPlace place{m_shown.path, {}};
    if (!m_checkpoint)
        return place;
    // A file of a tag represents the tag; a file of weights has no tag and represents itself.
    // The name first: comparing paths takes long for thousands of files.
    const std::string name = m_shown.path.filename().native();
    if (!m_checkpoint->tag.empty()
        && std::any_of(
            m_checkpoint->files.begin(), m_checkpoint->files.end(), [&](const CheckpointFile& file) {
                return file.path.native().ends_with(name) && file.path == m_shown.path;
            }))
        place.path = m_checkpoint->tagFolder;
    place.open.tag = m_shown.tag;
    place.open.roots = m_shown.roots;
    place.open.salvage = m_shown.salvage;
    place.open.kind = m_shown.kind;
    place.tagFolder = m_checkpoint->tagFolder;
    return place;
}

void Session::beginWatching()
{
    m_folderTimes.clear();
    m_names.reset();
    m_toldChanges = {};
    m_poll.start();
}

std::optional<Session::DiskLook> Session::lookAtFiles(io::FileSystem& files, const Checkpoint& checkpoint,
    const std::optional<std::set<std::string>>& before, const std::stop_token& token)
{
    DiskLook look;
    DiskChanges& changes = look.changes;
    std::set<std::string> known;
    const auto count = [](uint64_t& number, std::string& first, const std::string& name) {
        if (number++ == 0)
            first = name;
    };
    std::vector<io::Path> paths;
    for (const CheckpointFile& file : checkpoint.files)
        paths.push_back(file.path);
    const std::vector<Result<io::FileInfo>> infos = files.statAll(paths);
    for (size_t i = 0; i < infos.size(); ++i) {
        if (token.stop_requested())
            return std::nullopt;
        const CheckpointFile& file = checkpoint.files[i];
        if (file.path.parent_path() == checkpoint.tagFolder)
            known.insert(file.path.filename().native());
        const auto& info = infos[i];
        const bool wasThere = file.status != FileStatus::Missing;
        if (!info && info.error().code != ErrorCode::NotFound)
            continue; // not known
        if (!info && wasThere)
            count(changes.deleted, changes.firstDeleted, file.name);
        else if (info && !wasThere)
            count(changes.appeared, changes.firstAppeared, file.name);
        else if (info && info->identity != file.identity)
            count(changes.changed, changes.firstChanged, file.name);
    }
    const auto entries = checkpoint.tagFolder.empty() ? Result<std::vector<io::DirectoryEntry>>()
                                                      : files.list(checkpoint.tagFolder);
    if (!entries)
        return look;
    look.names.emplace();
    for (const io::DirectoryEntry& entry : *entries) {
        look.names->insert(entry.name);
        const bool isHidden = entry.name.starts_with('.'); // of a job that is writing
        if (before && !isHidden && !before->contains(entry.name) && !known.contains(entry.name))
            count(changes.appeared, changes.firstAppeared, entry.name);
    }
    lookForTags(files, checkpoint, before, look, token);
    return look;
}

void Session::lookForTags(io::FileSystem& files, const Checkpoint& checkpoint,
    const std::optional<std::set<std::string>>& before, DiskLook& look, const std::stop_token& token)
{
    const io::Path& tagFolder = checkpoint.tagFolder;
    if (checkpoint.runFolder.empty() || tagFolder.empty())
        return;
    // A framework saves each tag in a numbered folder of its own.
    const bool numbered = isNumberedCheckpoint(checkpoint.runFolder.filename().native());
    const io::Path run = numbered ? checkpoint.runFolder.parent_path() : checkpoint.runFolder;
    const auto entries = files.list(run);
    if (!entries)
        return;
    const io::Path& own = numbered ? checkpoint.runFolder : tagFolder;
    const bool wasListed = before && before->contains("../" + own.filename().native());
    for (const io::DirectoryEntry& entry : *entries) {
        if (token.stop_requested())
            return;
        if (entry.type != io::FileType::Directory || entry.name.starts_with('.')
            || (numbered && !isNumberedCheckpoint(entry.name)))
            continue;
        const std::string name = "../" + entry.name;
        look.names->insert(name);
        if (!wasListed || before->contains(name))
            continue;
        const auto folder = listFolder(files, run / entry.name);
        const bool isTag = numbered || (folder && folder->isTagFolder());
        if (isTag && look.changes.tags++ == 0)
            look.changes.firstTag = entry.name;
    }
}

void Session::checkOnDisk()
{
    if (!m_checkpoint || m_opening)
        return;
    m_watcher.run<DiskLook>(
        [&files = m_files, checkpoint = m_checkpoint, before = m_names](
            const std::stop_token& token, const std::function<void(DiskLook)>& deliver) {
            if (auto look = lookAtFiles(files, *checkpoint, before, token))
                deliver(std::move(*look));
        },
        [this](DiskLook look) {
            if (!m_names)
                m_names = std::move(look.names);
            if (std::exchange(m_toldChanges, look.changes) != look.changes)
                Q_EMIT changedOnDisk(look.changes);
        });
}

/// Also on file systems that report no events, and without a call on this thread that one may block.
void Session::lookAtFolders()
{
    if (!m_checkpoint || m_opening || m_folderLook.isRunning() || m_watcher.isRunning())
        return;
    // A file that is written in place does not change its folder.
    constexpr size_t kFewFiles = 256;
    if (m_checkpoint->files.size() <= kFewFiles)
        return checkOnDisk();
    m_folderLook.run<std::vector<int64_t>>(
        [&files = m_files, checkpoint = m_checkpoint](
            const std::stop_token&, const std::function<void(std::vector<int64_t>)>& deliver) {
            std::vector<int64_t> times;
            for (const io::Path& folder : {checkpoint->tagFolder, checkpoint->runFolder}) {
                const auto info = folder.empty() ? Result<io::FileInfo>(io::FileInfo{}) : files.stat(folder);
                if (!info && info.error().code != ErrorCode::NotFound)
                    return;
                times.push_back(info ? info->identity.modifiedNs : -1);
            }
            deliver(std::move(times));
        },
        [this](std::vector<int64_t> times) {
            const bool differs = times != m_folderTimes;
            m_folderTimes = std::move(times);
            if (differs)
                checkOnDisk();
        });
}

} // namespace shardscope::ui
