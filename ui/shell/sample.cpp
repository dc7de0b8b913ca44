// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/sample.h"

#include "core/base/result.h"

#include <QDir>
#include <QDirIterator>
#include <QTemporaryDir>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

const QString kInside = u":/samples/zero3-w4"_s;

/// Empty if all is there, else the path that could not be written.
QString copySample(const QDir& to)
{
    QDirIterator each(kInside, QDir::Files, QDirIterator::Subdirectories);
    while (each.hasNext()) {
        const QString from = each.next();
        const QString path = to.filePath(from.mid(kInside.size() + 1));
        if (!to.mkpath(QFileInfo(path).path()) || !QFile::copy(from, path)
            || !QFile::setPermissions(path, QFile::ReadOwner | QFile::ReadGroup | QFile::ReadOther))
            return path;
    }
    return {};
}

/// For a worker.
Result<QString> unpackedSample(const QString& settingsFolder)
{
    const QDir folder(QDir(settingsFolder).filePath(u"sample"_s));
    const QString target = folder.filePath(u"zero3-w4"_s);
    if (QFileInfo::exists(target))
        return target;
    const auto failed = [](const QString& path) {
        return fail(ErrorCode::WriteFailed, "The sample checkpoint cannot be unpacked.", path.toStdString(),
            "Make room in this folder, or allow to write there.");
    };
    if (!folder.mkpath(u"."_s))
        return failed(folder.path());
    QTemporaryDir part(folder.filePath(u"unpacking-XXXXXX"_s)); // complete, or not there
    if (!part.isValid())
        return failed(folder.path());
    if (const QString path = copySample(QDir(part.path())); !path.isEmpty())
        return failed(path);
    if (!QDir().rename(part.path(), target) && !QFileInfo::exists(target)) // another window was faster
        return failed(target);
    return target;
}

} // namespace

SampleOpener::SampleOpener(const QString& settingsFolder, QObject* parent)
    : QObject(parent)
{
    m_worker.run<Result<QString>>(
        [settingsFolder](const std::stop_token&, const std::function<void(Result<QString>)>& deliver) {
            deliver(unpackedSample(settingsFolder));
        },
        [this](const Result<QString>& path) {
            if (path)
                Q_EMIT unpacked(*path);
            else
                Q_EMIT failed(path.error());
            deleteLater();
        });
}

} // namespace shardscope::ui
