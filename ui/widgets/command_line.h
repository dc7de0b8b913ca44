// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

class QLineEdit;

namespace shardscope::ui {

/// A line to read and to copy: the window's choices as a command line of `shardscope`, or as other code.
class CommandLine : public QWidget
{
    Q_OBJECT
public:
    /// `name` is the object name of the line, and with "Copy" behind it that of the button. `what` and
    /// `copies` are for assistive tools and tool tips; empty: those of a command line.
    CommandLine(Theme& theme, const QString& name, QWidget* parent = nullptr, const QString& what = {},
        const QString& copies = {});

    void setCommand(const QString& command);
    [[nodiscard]] QString command() const;

private:
    QLineEdit* m_line;
};

} // namespace shardscope::ui
