// SPDX-License-Identifier: Apache-2.0
#include "ui/session/stored_jobs.h"

#include "core/engine/write/work_folder.h"
#include "ui/text/text.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr QLatin1StringView kJobEnding = ".job.json"_L1;

/// Paths are bytes, which JSON text cannot hold.
QString encoded(const io::Path& path)
{
    return QString::fromLatin1(QByteArray::fromStdString(path.native()).toBase64());
}

io::Path decoded(const QString& text)
{
    return QByteArray::fromBase64(text.toLatin1()).toStdString();
}

} // namespace

SavedPlan savedPlanOf(const WritePlan& plan, const PlacedCheckpoint& source, const io::Path& destination)
{
    return savePlan(plan, *source.checkpoint, source.place.open, destination);
}

QString savePlanText(const SaveTarget& target, const SavedPlan& plan)
{
    return saveText(target, [&](const TextSink& write) { write(savedPlanText(plan)); });
}

QString StoredJobs::recordOf(const WritePlan& plan, const io::Path& destination)
{
    const QByteArray place
        = QCryptographicHash::hash(QByteArray::fromStdString(destination.native()), QCryptographicHash::Sha1);
    return QString::fromStdString(plan.id) % u'-' % QString::fromLatin1(place.toHex().left(8));
}

std::vector<io::Path> StoredJobs::workFoldersOf(const WritePlan& plan, const io::Path& destination)
{
    return {WorkFolder::pathFor(plan, destination), WorkFolder::pathFor(plan, destination / plan.targetName)};
}

io::Path StoredJobs::existing(io::FileSystem& files, const std::vector<io::Path>& workFolders)
{
    for (const io::Path& folder : workFolders) {
        if (files.stat(folder).has_value())
            return folder;
    }
    return {};
}

StoredJobs::Begun StoredJobs::begun(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    const io::Path folder = existing(files, workFoldersOf(plan, destination));
    if (folder.empty())
        return Begun::No;
    return isWorkFolderInUse(files, folder) ? Begun::Running : Begun::Interrupted;
}

QString StoredJobs::planFile(const QString& record) const
{
    return QDir(m_folder).filePath(record % u".plan.json"_s);
}

QString StoredJobs::logFile(const QString& record) const
{
    return QDir(m_folder).filePath(record % u".log"_s);
}

QString StoredJobs::store(const StoredJob& job, const SavedPlan& plan) const
{
    if (!QDir().mkpath(m_folder))
        return m_folder;
    const QString problem = savePlanText({planFile(job.record), {}}, plan);
    if (!problem.isEmpty())
        return problem;
    QJsonArray folders;
    for (const io::Path& folder : job.workFolders)
        folders.append(encoded(folder));
    const QJsonObject facts{{u"title"_s, job.title}, {u"target"_s, job.target}, {u"work_folders"_s, folders},
        {u"verify"_s, job.verify}, {u"force"_s, job.force}};
    return saveText({QDir(m_folder).filePath(job.record % kJobEnding), {}},
        [&](const TextSink& write) { write(QJsonDocument(facts).toJson().toStdString()); });
}

void StoredJobs::remove(const QString& record) const
{
    for (const QString& path :
        {QDir(m_folder).filePath(record % kJobEnding), planFile(record), logFile(record)})
        QFile::remove(path);
}

Result<CleanEntry::State> StoredJobs::discard(
    io::FileSystem& files, const std::vector<io::Path>& workFolders, const QString& record) const
{
    const io::Path folder = existing(files, workFolders);
    CleanEntry::State state = CleanEntry::State::Removed;
    if (!folder.empty()) {
        SHARDSCOPE_TRY(state, discardWorkFolder(files, folder));
    }
    if (state == CleanEntry::State::Removed && !record.isEmpty())
        remove(record);
    return state;
}

std::optional<StoredJob> StoredJobs::read(const QString& record) const
{
    QFile file(QDir(m_folder).filePath(record % kJobEnding));
    if (!file.open(QIODevice::ReadOnly))
        return std::nullopt;
    const QJsonObject facts = QJsonDocument::fromJson(file.readAll()).object();
    StoredJob job;
    job.record = record;
    job.title = facts[u"title"_s].toString();
    job.target = facts[u"target"_s].toString();
    for (const QJsonValue folder : facts[u"work_folders"_s].toArray())
        job.workFolders.push_back(decoded(folder.toString()));
    job.verify = facts[u"verify"_s].toBool(true);
    job.force = facts[u"force"_s].toBool(false);
    return job;
}

QStringList StoredJobs::runOptions(const QString& record) const
{
    QStringList options;
    const auto job = read(record);
    if (job && !job->verify)
        options.append(u"--no-verify"_s);
    if (job && job->force)
        options.append(u"--force"_s);
    return options;
}

QList<StoredJob> StoredJobs::unfinished(io::FileSystem& files) const
{
    QList<StoredJob> jobs;
    const QStringList names
        = QDir(m_folder).entryList({QString(u'*' % kJobEnding)}, QDir::Files, QDir::Time | QDir::Reversed);
    for (const QString& name : names) {
        const auto job = read(name.chopped(kJobEnding.size()));
        if (!job)
            continue;
        const io::Path workFolder = existing(files, job->workFolders);
        if (workFolder.empty())
            remove(job->record);
        else if (!isWorkFolderInUse(files, workFolder))
            jobs.append(*job);
    }
    return jobs;
}

} // namespace shardscope::ui
