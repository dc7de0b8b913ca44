// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/save_file.h"

#include "core/engine/write/output_place.h"

#include <QFileInfo>
#include <QSaveFile>

namespace shardscope::ui {

QString saveFile(const SaveTarget& target, const std::function<bool(QIODevice&)>& write)
{
    const auto problemOf = [](const Status& status) {
        return status ? QString() : QString::fromStdString(describe(status.error()));
    };
    io::FileSystem& files = io::realFileSystem();
    JobContext job;
    const QString refused = problemOf(
        checkOutsideSources(files, QFile::encodeName(target.path).toStdString(), target.read, job));
    if (!refused.isEmpty())
        return refused;
    QSaveFile file(target.path);
    if (!file.open(QIODevice::WriteOnly) || !write(file) || !file.commit()) // which syncs the file
        return file.errorString();
    return problemOf(
        files.syncDirectory(QFile::encodeName(QFileInfo(target.path).absolutePath()).toStdString()));
}

QString saveText(const SaveTarget& target, const std::function<void(const TextSink&)>& write)
{
    return saveFile(target, [&write](QIODevice& file) {
        write([&file](std::string_view text) { file.write(text.data(), static_cast<qint64>(text.size())); });
        return true; // commit() fails after a failed write
    });
}

} // namespace shardscope::ui
