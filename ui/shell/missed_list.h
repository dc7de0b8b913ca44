// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "ui/style/settings.h"

#include <QFrame>

class QVBoxLayout;

namespace shardscope::ui {

/// Checkpoints that were open in an earlier window and could not be opened again, a line each: where it was
/// and why, *Try Again* and *Remove*. Hidden while there are none. GUI thread only.
class MissedList : public QFrame
{
    Q_OBJECT
public:
    MissedList(Theme& theme, QWidget* parent);

    void add(const OpenedEntry& entry, const Error& why);
    /// It was opened, or is not wanted any more.
    void remove(const OpenedEntry& like);
    [[nodiscard]] QList<OpenedEntry> entries() const;

Q_SIGNALS:
    void tryAgain(const shardscope::ui::OpenedEntry& entry);

private:
    struct Line {
        OpenedEntry entry;
        QWidget* widget = nullptr;
    };
    QWidget* makeLine(const OpenedEntry& entry, const Error& why);

    Theme& m_theme;
    QVBoxLayout* m_rows;
    QList<Line> m_lines;
};

} // namespace shardscope::ui
