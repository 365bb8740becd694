"""Users' programs with settings and inputs, design folders, runs on described machines."""
