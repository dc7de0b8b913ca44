// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/save_text.h"

#include <QSaveFile>

namespace shardscope::ui {

QString saveText(const QString& path, const std::function<void(const TextSink&)>& write)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return file.errorString();
    write([&file](std::string_view text) { file.write(text.data(), static_cast<qint64>(text.size())); });
    return file.commit() ? QString() : file.errorString();
}

} // namespace shardscope::ui
