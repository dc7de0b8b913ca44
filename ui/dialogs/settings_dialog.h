// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/settings.h"

#include <QDialog>

class QComboBox;
class QFormLayout;
class QListWidget;

namespace shardscope::ui {

/// All stored settings of the window in one place. Every change is applied and stored at once.
class SettingsDialog : public QDialog
{
    Q_OBJECT
public:
    explicit SettingsDialog(Settings& settings, QWidget* parent = nullptr);

Q_SIGNALS:
    void themeChosen(shardscope::ui::ThemeMode mode);
    void textSizeChosen(int percent);
    void jobLimitChosen(int jobs);

private:
    void addLook(QFormLayout* rows);
    void addStart(QFormLayout* rows);
    void addLayouts(QFormLayout* rows);
    void fillLayouts();

    Settings& m_settings;
    QListWidget* m_layouts;
};

} // namespace shardscope::ui
