// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/save_text.h"

#include "core/io/file_system.h"

#include <QFileInfo>
#include <QSaveFile>

namespace shardscope::ui {

QString saveText(const QString& path, const std::function<void(const TextSink&)>& write)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return file.errorString();
    write([&file](std::string_view text) { file.write(text.data(), static_cast<qint64>(text.size())); });
    if (!file.commit()) // which syncs the file
        return file.errorString();
    const Status synced = io::realFileSystem().syncDirectory(QFileInfo(path).absolutePath().toStdString());
    return synced ? QString() : QString::fromStdString(describe(synced.error()));
}

} // namespace shardscope::ui
