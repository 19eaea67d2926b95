#include "benchmark_app/report.hpp"

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <stdexcept>

#include "common/report.hpp"

namespace fs = std::filesystem;

namespace benchmark_app {
namespace {

class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path) {
    std::error_code ignored;  // writing says what is wrong
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) fs::create_directories(folder, ignored);
    file_.open(path);
  }
  std::ostream& stream() { return file_; }
  void close(const std::string& what) {
    if (!file_.flush()) throw std::runtime_error("cannot write '" + path_ + "'");
    samples::info() << what << " is stored to " << path_ << std::endl;
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// Names of layers are any bytes; a report is not lost for one that is no UTF-8.
std::string json_text(const Report::Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Report::Json::error_handler_t::replace);
}

std::string csv_text(const Report::Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return std::to_string(value.get<double>());
  return json_text(value);
}

void write_csv_section(std::ostream& out, const char* title, const std::vector<Report::Entry>& entries) {
  if (entries.empty()) return;
  out << title << ";\n";
  for (const Report::Entry& entry : entries) out << entry.csv_name << ';' << csv_text(entry.value) << ";\n";
  out << '\n';
}

Report::Json to_object(const std::vector<Report::Entry>& entries) {
  Report::Json object = Report::Json::object();
  for (const Report::Entry& entry : entries) object[entry.json_name] = entry.value;
  return object;
}

std::vector<Report::Entry> command_line(const Options& options) {
  std::vector<Report::Entry> entries;
  for (const auto& [name, value] : options.given) entries.push_back({name, name, value});
  return entries;
}

void append(std::vector<Report::Entry>& entries, std::vector<Report::Entry>& more) {
  for (Report::Entry& entry : more) entries.push_back(std::move(entry));
}

}  // namespace

void Report::add_configuration(std::vector<Entry> entries) { append(configuration_, entries); }
void Report::add_results(std::vector<Entry> entries) { append(results_, entries); }
void Report::add_group(const std::string& shapes, const Statistics& statistics) {
  groups_.emplace_back(shapes, statistics);
}
void Report::add_section(const std::string& name, Json value) { sections_[name] = std::move(value); }

std::string Report::path(const std::string& name) const { return (fs::path(options_.report_folder) / name).string(); }

void Report::write() const {
  if (!options_.wants_report()) return;
  options_.json_stats ? write_json_report() : write_csv_report();
}

void Report::write_csv_report() const {
  OutputFile file(path("benchmark_report.csv"));
  std::ostream& out = file.stream();
  write_csv_section(out, "Command line parameters", command_line(options_));
  write_csv_section(out, "Configuration setup", configuration_);
  write_csv_section(out, "Execution results", results_);
  if (!groups_.empty()) {
    out << "Group Latencies;\nData shape;Median;Average;Min;Max;\n" << std::fixed << std::setprecision(2);
    for (const auto& [shapes, s] : groups_) {
      out << shapes << ';' << s.chosen << ';' << s.average << ';' << s.min << ';' << s.max << ";\n";
    }
    out << '\n';
  }
  file.close("Statistics report");
}

void Report::write_json_report() const {
  Json report{{"cmd_options", to_object(command_line(options_))},
              {"configuration_setup", to_object(configuration_)},
              {"execution_results", to_object(results_)}};
  for (const auto& [shapes, s] : groups_) {
    report["execution_results"]["group_latencies"].push_back({{"data_shape", shapes},
                                                              {"latency_median", s.chosen},
                                                              {"latency_average", s.average},
                                                              {"latency_min", s.min},
                                                              {"latency_max", s.max}});
  }
  report.update(sections_);
  OutputFile file(options_.json_file.empty() ? path("benchmark_report.json") : options_.json_file);
  file.stream() << json_text(report, 4) << '\n';
  file.close("Statistics report");
}

void Report::write_counters(const std::vector<Profile>& profiles) const {
  if (!options_.wants_report() || options_.report_type == "no_counters") return;
  const bool is_average = options_.report_type == "average_counters";
  const bool is_sorted = options_.report_type == "sort_detailed_counters";
  const std::vector<Profile> tables = is_average ? std::vector<Profile>{average(profiles)} : profiles;
  OutputFile file(path("benchmark_" + options_.report_type + "_report" + (options_.json_stats ? ".json" : ".csv")));
  if (options_.json_stats) {
    Json report;
    report["report_type"] = is_average ? "average" : is_sorted ? "sort_detailed" : "detailed";
    if (is_average) {
      report["avg_performance"] = to_json(tables.front(), false);
    } else {
      for (const Profile& table : tables) report["detailed_performance"].push_back(to_json(table, is_sorted));
    }
    file.stream() << json_text(report, 4) << '\n';
  } else {
    for (const Profile& table : tables) write_csv(file.stream(), table, is_sorted);
  }
  file.close("Performance counters report");
}

}  // namespace benchmark_app
