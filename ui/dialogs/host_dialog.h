// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"

#include <QDialog>
#include <QStringList>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace shardscope::ui {

class MessageBar;

/// Chooses a folder or file on another host, or in an object store: the host or bucket by name, then by
/// walking through its folders. `s3://` in place of a host lists the buckets. Deletes itself when it is
/// closed.
class HostDialog : public QDialog
{
    Q_OBJECT
public:
    /// `hosts`: those that were used before, buckets as `s3://BUCKET`; the names in the configuration of ssh
    /// are added.
    HostDialog(io::FileSystem& files, Theme& theme, const QStringList& hosts, QWidget* parent = nullptr);

    /// Puts a path of another host into the fields; nothing connects before the user says so.
    void fill(const io::Path& path);
    /// The folder that is listed, or what is selected in it; empty if there is no host or bucket.
    [[nodiscard]] io::Path chosen() const;

Q_SIGNALS:
    void pathChosen(const shardscope::io::Path& path);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Listing;
    void makeLayout();
    void addConfiguredHosts();
    /// Lists the folder that is typed, or one below what is listed; "..": the one above.
    void look(const std::string& below = {});
    void show(const Listing& listing);
    /// Puts the path of what is listed into the fields.
    void showPlace();
    void clear();
    /// What the list says while nothing is in it.
    void showHint(const QString& text);
    void choose();
    /// What is typed as a path of the file system. Empty without a host.
    [[nodiscard]] io::Path folder() const;
    /// The folder above what is listed; empty if there is none.
    [[nodiscard]] io::Path above() const;

    io::FileSystem& m_files;
    QComboBox* m_host;
    QLineEdit* m_folder;
    MessageBar* m_messages;
    QTreeWidget* m_list;
    QLabel* m_hint; ///< in the empty list
    QLabel* m_summary;
    QPushButton* m_open;
    io::Path m_listed; ///< empty: nothing is
    LatestOnly m_worker{WorkLength::Long};
    LatestOnly m_configWorker{WorkLength::Short};
};

} // namespace shardscope::ui
