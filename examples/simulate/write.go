package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// write prints the attempts in the form asked for.
func write(out io.Writer, entries []entry, form string) error {
	switch form {
	case "json", "yaml":
		return writeData(out, struct {
			Pods []entry `json:"pods"`
		}{entries}, form)
	}
	return writeTable(out, entries, form == "wide")
}

func writeData(out io.Writer, v any, form string) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if form == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	}
	_, err = out.Write(data)
	return err
}

// writeTable prints the columns as kubectl does.
func writeTable(out io.Writer, entries []entry, wide bool) error {
	t := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	header := []string{"NAMESPACE", "NAME", "PRIORITY", "OUTCOME", "NODE"}
	if wide {
		header = append(header, "EVALUATED", "FEASIBLE", "SCORE", "NOMINATED NODE", "VICTIMS")
	}
	fmt.Fprintln(t, strings.Join(append(header, "MESSAGE"), "\t"))
	for _, e := range entries {
		namespace, name, _ := strings.Cut(e.Pod, "/")
		row := []string{namespace, name, fmt.Sprint(e.Priority), e.Outcome, orNone(e.Node)}
		if wide {
			row = append(row, fmt.Sprint(e.evaluated), fmt.Sprint(e.feasible), fmt.Sprint(e.total), orNone(e.NominatedNode), orNone(strings.Join(e.Victims, ",")))
		}
		fmt.Fprintln(t, strings.Join(append(row, e.Message), "\t"))
	}
	return t.Flush()
}

func orNone(s string) string { return cmp.Or(s, "<none>") }
