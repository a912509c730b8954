package library

import (
	"context"
	"encoding/json"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/model"
	"ferrum_mem/core/passes"
)

// ExportJSON returns the definition of the model in a folder or a file. Errors: those of
// model.Builder.Export.
func (x *Executors) ExportJSON(path string) ([]byte, error) {
	if err := x.startedFor("model.export_json", path); err != nil {
		return nil, err
	}
	definition, err := x.builder.Export(path)
	if err != nil {
		return nil, err
	}
	return definition.JSON()
}

// issueList is the result of a validation.
type issueList struct {
	Issues []ir.Issue `json:"issues"`
	// StopsBuild states that a build would fail.
	StopsBuild bool `json:"stops_build"`
}

func encodeIssues(op string, issues []ir.Issue) ([]byte, error) {
	list := issueList{Issues: append([]ir.Issue{}, issues...)}
	for _, each := range issues {
		list.StopsBuild = list.StopsBuild || each.Severity >= ir.Error
	}
	return encode(op, list)
}

// ValidateModelJSON returns what is wrong with the model in a folder or a file. Errors: its files cannot
// be read.
func (x *Executors) ValidateModelJSON(path string) ([]byte, error) {
	const op = "model.validate_json"
	if err := x.startedFor(op, path); err != nil {
		return nil, err
	}
	issues, err := x.builder.Validate(path)
	if err != nil {
		return nil, err
	}
	return encodeIssues(op, issues)
}

// ValidateDefinitionJSON returns what is wrong with a definition. Errors: CodeInvalidFormat.
func (x *Executors) ValidateDefinitionJSON(definition []byte) ([]byte, error) {
	const op = "definition.validate_json"
	parsed, err := x.parse(op, definition)
	if err != nil {
		return nil, err
	}
	if err := parsed.AddLayerParameters(nil); err != nil {
		return encodeIssues(op, []ir.Issue{{Severity: ir.Error, Category: ir.CategoryLayers, Description: err.Error(), ConfigPath: "layers"}})
	}
	return encodeIssues(op, parsed.Validate())
}

// BuilderInfoJSON describes what the library builds.
func (x *Executors) BuilderInfoJSON() ([]byte, error) {
	const op = "builder.info_json"
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	return encode(op, builderInfo{x.builder.Info(), x.library.Computes.registry().Usable()})
}

// builderInfo describes a builder, and the compute backends for which it builds.
type builderInfo struct {
	model.BuilderInfo
	Engines []backend.Usable `json:"engines"`
}

// optimised is a definition after passes.
type optimised struct {
	Definition json.RawMessage `json:"definition"`
	Passes     []passes.Result `json:"passes"`
	Total      passes.Stats    `json:"total"`
}

// OptimizeJSON runs passes over a definition. names is a JSON list of their names; nil: those of the default
// level of optimisation. Errors: CodeInvalidFormat; those of model.Builder.Optimize.
func (x *Executors) OptimizeJSON(definition, names []byte) ([]byte, error) {
	const op = "definition.optimize"
	parsed, err := x.parse(op, definition)
	if err == nil {
		err = parsed.AddLayerParameters(nil)
	}
	if err != nil {
		return nil, err
	}
	var list []string
	if names != nil {
		if err := json.Unmarshal(names, &list); err != nil || list == nil {
			return nil, device.Errorf(device.CodeInvalidFormat, op, "the passes %.64q are no JSON list of names, such as [\"fold_constants\"]", names)
		}
	}
	made, results, err := x.builder.Optimize(context.Background(), parsed, list)
	if err != nil {
		return nil, err
	}
	text, err := made.JSON()
	if err != nil {
		return nil, err
	}
	return encode(op, optimised{text, append([]passes.Result{}, results...), passes.Total(results)})
}

// EstimateJSON estimates the time of a build.
func (x *Executors) EstimateJSON(definition []byte) ([]byte, error) {
	const op = "build.estimate_json"
	parsed, err := x.parse(op, definition)
	if err == nil {
		err = parsed.AddLayerParameters(nil)
	}
	if err != nil {
		return nil, err
	}
	return encode(op, x.builder.EstimateBuildTime(parsed))
}

func (x *Executors) startedFor(op, path string) error {
	if _, err := x.library.started(op); err != nil {
		return err
	}
	if path == "" {
		return device.Errorf(device.CodeInvalidArgument, op, "path is empty")
	}
	return nil
}

func (x *Executors) parse(op string, definition []byte) (*ir.Model, error) {
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	return x.parsed(definition)
}

// parsed reads a definition whose layers may be those of the program.
func (x *Executors) parsed(definition []byte) (*ir.Model, error) {
	made, err := ir.Parse(definition)
	if err == nil {
		made.Operators = &x.library.Layers
	}
	return made, err
}

// PlanJSON plans the activations of a definition for a backend, after the standard passes of a level of
// optimisation. Nothing is built. Errors: those of model.Plan.
func (x *Executors) PlanJSON(computeID uint64, definition []byte, level uint32, dimensions []byte) ([]byte, error) {
	const op = "compute.plan_json"
	c, err := x.library.Computes.Compute(op, computeID)
	if err != nil {
		return nil, err
	}
	parsed, err := x.parsed(definition)
	if err != nil {
		return nil, err
	}
	dims, err := dimensionsOf(op, dimensions)
	if err != nil {
		return nil, err
	}
	if err := c.device.pass(op); err != nil {
		return nil, err
	}
	defer c.device.gate.exit()
	planned, err := x.builder.Plan(context.Background(), parsed, c.Backend, level, dims)
	if err != nil {
		return nil, CallError(err, c)
	}
	return planned.JSON()
}

// dimensionsOf reads the lengths of dimensions from a JSON object.
func dimensionsOf(op string, text []byte) (map[string]uint64, error) {
	var dims map[string]uint64
	if err := json.Unmarshal(text, &dims); err != nil || dims == nil {
		return nil, device.Errorf(device.CodeInvalidFormat, op, "the dimensions %.64q are no JSON object of whole numbers, such as {\"batch\": 1}", text)
	}
	return dims, nil
}
