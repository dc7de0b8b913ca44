// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/compare_run.h"
#include "ui/style/settings.h"
#include "ui/style/theme.h"

#include <QWidget>

class QLineEdit;
class QMenu;
class QPushButton;
class QToolButton;

namespace shardscope::ui {

/// The line with the other checkpoint of a comparison: a path, one of the run's tags, or a recent
/// checkpoint; states and tolerances; compare and cancel.
class CompareBar : public QWidget
{
    Q_OBJECT
public:
    CompareBar(Theme& theme, const Settings& settings, QWidget* parent = nullptr);

    void setCheckpoint(const CheckpointPtr& checkpoint, const std::vector<std::string>& states);
    void setOther(const QString& path);
    [[nodiscard]] QString other() const;
    void setRunning(bool running);
    /// The choices; empty while a field is invalid (problem() says why).
    [[nodiscard]] std::optional<CompareWish> wish() const;
    [[nodiscard]] QString problem() const;

Q_SIGNALS:
    void compareRequested();
    void cancelRequested();
    /// The choices have changed.
    void edited();

private:
    QWidget* makeOptions();
    void fillChoices();
    void fillStates(const std::vector<std::string>& states);
    void addPatterns(QWidget* options);
    void showOptions();

    Theme& m_theme;
    const Settings& m_settings;
    CheckpointPtr m_checkpoint;
    QLineEdit* m_other;
    QMenu* m_choices;
    QMenu* m_states;
    QToolButton* m_stateButton;
    QLineEdit* m_relative;
    QLineEdit* m_absolute;
    QLineEdit* m_patterns;
    QPushButton* m_start;
    bool m_running = false;
};

} // namespace shardscope::ui
