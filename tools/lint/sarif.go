package lint

import "github.com/podberth/podberth/diagnose/lint"

// sarif is the part of the Static Analysis Results Interchange Format 2.1.0 that findings need.
type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string      `json:"name"`
			Rules []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	Configuration    struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Logical []sarifLogical `json:"logicalLocations"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"` // object and field path
	Kind string `json:"kind"`
}

// sarifOf returns the findings as one run. A manifest may come from any file or stream, so that locations are logical.
func sarifOf(found []lint.Finding) sarif {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name = "podberth lint"
	for _, r := range lint.Rules() {
		x := sarifRule{ID: r.ID, ShortDescription: sarifText{r.Summary}}
		x.Configuration.Level = level(r.Severity)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, x)
	}
	for _, f := range found {
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, Level: level(f.Severity), Message: sarifText{f.Explanation + ". Fix: " + f.Fix},
			Locations: []sarifLocation{{[]sarifLogical{{f.Object + ": " + f.Path, "object"}}}},
		})
	}
	return sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

func level(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return string(s)
}
